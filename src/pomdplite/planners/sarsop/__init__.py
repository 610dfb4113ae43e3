"""SARSOP (Kurniawati, Hsu, Lee 2008) in mixed-observability form (Ong et al. 2010)."""
