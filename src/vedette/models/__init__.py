"""Where weights come from: names, the cache folder, pulling, and what a GGUF says of itself."""
