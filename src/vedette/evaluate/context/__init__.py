"""How much text a model can use: facts hidden in texts of growing length, and asked for."""
