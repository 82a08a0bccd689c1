//! Which caveats make a result untrustworthy.

use super::Caveat;

impl Caveat {
    /// Whether what was measured is not what was asked for, so that the result is not trustworthy.
    pub const fn spoils(&self) -> bool {
        match self {
            Self::PolicyRefused { .. }
            | Self::PolicyChanged { .. }
            | Self::SlackChanged { .. }
            | Self::SliceChanged { .. }
            | Self::GroupChanged { .. }
            | Self::ClockStepped { .. }
            | Self::Unfinished { .. }
            | Self::MessagesIrregular { .. }
            | Self::LoadEnded { .. }
            | Self::LoadIneffective { .. }
            | Self::RecordingIncomplete { .. }
            | Self::GroupNotRemoved { .. }
            | Self::SettingNotRestored { .. }
            | Self::SettingChanged { .. }
            | Self::RecordingsJoined { .. }
            | Self::UnknownConditions { .. }
            | Self::SourceLeftOut { .. }
            | Self::AffinityDiffers { .. }
            | Self::SliceRefused { .. }
            | Self::DmaLatencyRefused { .. }
            | Self::SettingLeftOut { .. }
            | Self::SamplesIncomplete { .. }
            | Self::SamplesUnreadable { .. }
            | Self::GuardianGone => true,
            Self::NiceInherited { .. }
            | Self::SlackInherited { .. }
            | Self::SlackDiffers { .. }
            | Self::ThreadsApart { .. }
            | Self::MemoryNotLocked { .. }
            | Self::RealtimeTime { .. }
            | Self::ObserverShares { .. }
            | Self::ThreadsShareCpus { .. }
            | Self::NoBpfScheduler
            | Self::ProcessesNotFollowed { .. }
            | Self::ThreadsFoundLate { .. }
            | Self::WaitsBounded { .. }
            | Self::NoRequests
            | Self::ThreadsJoined { .. }
            | Self::LoopsNotMeasured { .. }
            | Self::SpansLost { .. }
            | Self::SpansNotMeasured { .. }
            | Self::LeftOut { .. }
            | Self::SettingLeftBehind { .. }
            | Self::ControlNotTried { .. }
            | Self::GroupLeftBehind { .. }
            | Self::SamplesLost { .. }
            | Self::WakeupsNotSeen { .. }
            | Self::EarlyWakeups { .. }
            | Self::PageFaults { .. }
            | Self::MachineBusy { .. }
            | Self::LoadNice { .. }
            | Self::RecordingCutOff { .. }
            | Self::NoEnd { .. }
            | Self::SourceTwice { .. }
            | Self::FoundAwake { .. }
            | Self::Throttled { .. }
            | Self::QuotaUsedUp { .. }
            | Self::GroupFrozen { .. }
            | Self::SiblingBusy { .. }
            | Self::EmulatedCpu
            | Self::OneTcgThread { .. }
            | Self::GuestRestarted { .. }
            | Self::KvmFailed { .. }
            | Self::RealtimeClock
            | Self::CpusNotMeasured { .. }
            | Self::TracerRefused { .. }
            | Self::TimelinesRefused { .. }
            | Self::TimelinesWithoutFile
            | Self::TimelinesMissing { .. }
            | Self::CommandsLeftOut { .. }
            | Self::TracerGoesWithout { .. }
            | Self::NotTraced { .. }
            | Self::Imported { .. }
            | Self::OldNote { .. } => false,
        }
    }
}
