"""The grasping task in MuJoCo (extra `robot`), with two robots. These worlds support the problem `grasp` only."""
