"""Tasks that are ready to use: data beside this file, over the general ones."""
