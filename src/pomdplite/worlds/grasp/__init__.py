"""The grasping task in MuJoCo: the scene, and two robots."""
