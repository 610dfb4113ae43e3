"""Hidden-goal MDPs (Fern, Natarajan, Judah and Tadepalli 2007, 2014): help somebody whose goal you do not know."""
