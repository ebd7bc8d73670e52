"""Texts held against policies: rules first, then a model's yes or no, each with its weight."""
