"""What a stack costs and how many environments it needs: `python -m infra.capacity` prints docs/cost.md's tables."""
