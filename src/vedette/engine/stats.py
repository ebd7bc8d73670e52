"""What the engine has done, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class EngineStats:
    """Running totals since the engine started; read them at any time."""

    steps: int = 0
    tokens_decoded: int = 0
    tokens_shared: int = 0
    outputs: int = 0
    requests: int = 0
    guessed: int = 0
    guesses_right: int = 0
    adapter_changes: int = 0
    step_s: float = 0.0
    decode_s: float = 0.0

    @property
    def python_share(self) -> float:
        """Share of step time spent outside llama.cpp."""
        return 1.0 - self.decode_s / self.step_s if self.step_s else 0.0

    def record(self, n_tokens: int, n_outputs: int, decode_s: float, step_s: float) -> None:
        """Add one step."""
        self.steps += 1
        self.tokens_decoded += n_tokens
        self.outputs += n_outputs
        self.decode_s += decode_s
        self.step_s += step_s
