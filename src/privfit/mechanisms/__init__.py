"""How an answer is blurred: numbers in, noisy numbers out, never records."""
