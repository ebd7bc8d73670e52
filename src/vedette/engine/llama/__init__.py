"""The only ctypes code: llama.cpp's library, models, contexts, batches and samplers."""

import os

# Threads that wait for each other spin, by OpenMP's default, for milliseconds at a time. On a
# machine that has other work as well that makes a step several times slower (measured with two
# threads and one busy core: 700 to 1,000 ms against 110 to 130 ms); a short spin costs little on
# an idle one. Set before the library is loaded, and only where the user has not chosen.
if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = "1000"
