"""Random programs of a hostile script, in processes where each tensor's memory lies between guard pages."""
