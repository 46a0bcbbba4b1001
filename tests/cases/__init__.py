"""Inputs on which the product was wrong once, with what is right; they lie beside the project (see `cases`)."""
