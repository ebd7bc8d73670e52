"""Speculative decoding around llama.cpp: what pays on a machine, and command lines that work."""
