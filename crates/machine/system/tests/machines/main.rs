//! Machines of many kinds, and the findings that an expert would expect of each: costs, their order, and remedies.

mod boards;
mod machine;
mod rented;
mod servers;
mod steps;
mod workstations;
