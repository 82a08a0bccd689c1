//! hwlatdetect.
