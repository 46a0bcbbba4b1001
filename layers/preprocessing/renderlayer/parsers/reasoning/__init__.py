"""Where reasoning begins and ends, a row a family."""
