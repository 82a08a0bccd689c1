//! Machines of many kinds, and what somebody who knows them would say of each: what costs, in which order, and what to do there.

mod boards;
mod machine;
mod rented;
mod servers;
mod steps;
mod workstations;
