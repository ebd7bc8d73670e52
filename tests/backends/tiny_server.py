"""How the llama-servers of these tests are started."""

from vedette.backends.server_process import ServerOptions

OPTIONS = ServerOptions(threads=1, n_slots=4, slot_tokens=2048, cpu_only=True)
