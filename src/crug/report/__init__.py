"""What a user sees: the terminal, and figures."""
