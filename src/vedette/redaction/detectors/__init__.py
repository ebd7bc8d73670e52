"""One kind of thing to find in each file."""
