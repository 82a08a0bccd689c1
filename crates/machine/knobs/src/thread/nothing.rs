//! Turns nothing: whatever is found of it is chance. For trying the trial.

use howlate_model::{SettingScope, TunedKnobs};

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: TunedKnobs::NOTHING,
    scope: SettingScope::Thread,
    what: "nothing at all, to see what chance finds",
    cost: "nothing",
    look: |_| Look::thread("as it is", "as it is", ThreadSetting::Nothing),
    texts: &[],
};
