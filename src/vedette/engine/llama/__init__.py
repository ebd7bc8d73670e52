"""The only ctypes code: llama.cpp's library, models, contexts, batches and samplers."""
