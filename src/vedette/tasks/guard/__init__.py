"""Texts held against policies: rules first, then a model, each with its weight."""
