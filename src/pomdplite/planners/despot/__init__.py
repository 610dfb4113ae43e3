"""DESPOT (Ye, Somani, Hsu, Lee 2017)."""
