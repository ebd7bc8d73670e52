"""One HTTP door, as OpenAI's API has it, over any backend. Needs the extra `serve`."""
