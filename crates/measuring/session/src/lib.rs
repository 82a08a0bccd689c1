//! One measurement from plan to result: the machine is described, the first suitable engine runs each turn under its load
//! and with its settings, and every line goes to the recording and to the analysis.
//!
//! This crate joins the stages and knows no command line: a command passes a [`Request`], and progress goes to
//! the [`Screen`](howlate_render::Screen) of the request.

mod adaptive;
mod affinity;
mod applied_load;
mod deadline_obstacle;
mod display;
mod disturbances;
mod engines;
mod environment;
mod error;
mod guests;
mod joining;
mod late_actions;
mod measure_adaptive;
mod measured_turn;
mod pace;
mod policy_advice;
mod recorder;
mod replay;
mod request;
mod resume;
mod session;
mod thread_names;
mod timelines;
mod traced_turn;
mod tracing;
mod turn_load;
mod turn_settings;
mod until;
mod wakeup_file;

pub use adaptive::{AdaptivePlan, AdaptiveStep};
pub use affinity::busy;
pub use applied_load::apply_load;
pub use environment::Environment;
pub use error::{GuestsError, SessionError};
pub use guests::{Bootable, Boots, GuestOutput, Guests, HostChoices, Rounds, failed};
pub use late_actions::{ActionRunner, LateAction, LateActions};
pub use measure_adaptive::{AdaptiveParts, measure_in_steps};
pub use policy_advice::for_policy;
pub use recorder::{Intake, Recorder, date_and_time, header};
pub use replay::{ReplayError, replay};
pub use request::Request;
pub use resume::Resume;
pub use session::measure;
pub use timelines::{Keep, Timelines};
pub use tracing::TraceOptions;
pub use turn_settings::TurnSettings;
pub use until::{ConditionShare, Goal, GoalError, is_known};
