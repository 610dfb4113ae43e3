CREATE TABLE study (configuration TEXT NOT NULL, title TEXT NOT NULL, seed INTEGER NOT NULL, clock TEXT NOT NULL,
                    sources TEXT NOT NULL);
CREATE TABLE runs (started TEXT NOT NULL, versions TEXT NOT NULL, machine TEXT NOT NULL);
CREATE TABLE cells (cell INTEGER PRIMARY KEY, problem TEXT NOT NULL, planner TEXT NOT NULL, parameters TEXT NOT NULL,
                    episodes INTEGER NOT NULL, reason TEXT, preparation_seconds REAL, chosen TEXT);
CREATE TABLE episodes (cell INTEGER NOT NULL, episode INTEGER NOT NULL, discounted REAL NOT NULL,
                       undiscounted REAL NOT NULL, success INTEGER, steps INTEGER NOT NULL, cut INTEGER NOT NULL,
                       seconds REAL NOT NULL, simulations INTEGER NOT NULL, model_steps INTEGER NOT NULL,
                       notes TEXT NOT NULL, PRIMARY KEY (cell, episode)) WITHOUT ROWID;
CREATE VIEW rows AS
    SELECT problem, planner, parameters, seed, episode, discounted, undiscounted, success, steps, cut,
           seconds / max(steps, 1) AS seconds_per_step, simulations * 1.0 / max(steps, 1) AS simulations_per_step,
           model_steps * 1.0 / max(steps, 1) AS model_steps_per_step, notes
    FROM episodes JOIN cells USING (cell) JOIN study ORDER BY cell, episode;
