"""The intersection in highway-env (Leurent 2018), on the lattice of the model."""
