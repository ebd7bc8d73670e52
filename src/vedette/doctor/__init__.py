"""What this machine is, what is installed on it, and what to expect of it. Changes nothing."""
