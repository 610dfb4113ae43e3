"""Problems × planners × parameters, stored in a SQLite file as they are played."""
