"""How requests are worked on: threads, waiting, clients that leave, and what is counted on the way."""
