//! What happened: the event kinds of the block layer, with blktrace's letters and the tracepoints' names.

/// One kind of block-layer event.
///
/// Sources: `include/uapi/linux/blktrace_api.h` (action ids), `include/trace/events/block.h` (tracepoints).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Action {
    /// Q: a bio enters a queue (`block_bio_queue`).
    Queue,
    /// G: a request is allocated for a bio (`block_getrq`).
    GetRq,
    /// I: a request goes to a scheduler or a software queue (`block_rq_insert`).
    Insert,
    /// D: the driver starts a request (`block_rq_issue`).
    Issue,
    /// R: a request is taken back (`block_rq_requeue`).
    Requeue,
    /// C: a request, a part of one, or a bio of a bio-based device ends (`block_rq_complete`, `block_bio_complete`).
    ///
    /// Text blktrace does not tell the two apart; [`Action::BioComplete`] is used only where the source names it.
    Complete,
    /// C of a bio, where the source says so (`block_bio_complete`).
    BioComplete,
    /// M: a bio is appended to a request (`block_bio_backmerge`). blkparse prints request merges with the same letter.
    BackMerge,
    /// F: a bio is prepended to a request (`block_bio_frontmerge`).
    FrontMerge,
    /// M: a whole request is absorbed by its predecessor (`block_rq_merge`), where the source says so.
    RqMerge,
    /// P: a plug gets its first request (`block_plug`).
    Plug,
    /// U: a plug is flushed explicitly (`block_unplug`).
    Unplug,
    /// UT: a plug is flushed because its task sleeps (`block_unplug`, not explicit).
    UnplugTimer,
    /// X: a bio is cut (`block_split`).
    Split,
    /// A: a bio is mapped to another device (`block_bio_remap`).
    Remap,
    /// A of a request (`block_rq_remap`).
    RqRemap,
    /// B: a bounce buffer is used (`block_bio_bounce`).
    Bounce,
    /// S: sleeping for a request (`block_sleeprq`, gone since about 5.11).
    SleepRq,
    /// `block_rq_error`: follows the C of a failed request. Read, not counted as an action.
    RqError,
    /// `block_io_start`. Read, not counted as an action.
    IoStart,
    /// `block_io_done`. Read, not counted as an action.
    IoDone,
}

impl Action {
    /// Every action, in declaration order.
    pub const ALL: [Action; 21] = [
        Action::Queue,
        Action::GetRq,
        Action::Insert,
        Action::Issue,
        Action::Requeue,
        Action::Complete,
        Action::BioComplete,
        Action::BackMerge,
        Action::FrontMerge,
        Action::RqMerge,
        Action::Plug,
        Action::Unplug,
        Action::UnplugTimer,
        Action::Split,
        Action::Remap,
        Action::RqRemap,
        Action::Bounce,
        Action::SleepRq,
        Action::RqError,
        Action::IoStart,
        Action::IoDone,
    ];

    /// The letter(s) blkparse prints; `None` for events blktrace does not have.
    pub fn letter(self) -> Option<&'static str> {
        Some(match self {
            Action::Queue => "Q",
            Action::GetRq => "G",
            Action::Insert => "I",
            Action::Issue => "D",
            Action::Requeue => "R",
            Action::Complete | Action::BioComplete => "C",
            Action::BackMerge | Action::RqMerge => "M",
            Action::FrontMerge => "F",
            Action::Plug => "P",
            Action::Unplug => "U",
            Action::UnplugTimer => "UT",
            Action::Split => "X",
            Action::Remap | Action::RqRemap => "A",
            Action::Bounce => "B",
            Action::SleepRq => "S",
            Action::RqError | Action::IoStart | Action::IoDone => return None,
        })
    }

    /// blktrace's letter, with a second one where blktrace cannot tell two events apart: `Cb` a bio ends, `Mr` a request is
    /// absorbed, `Ar` a request is remapped. Events blktrace does not have: `Er`, `Is`, `Id` (error, io_start, io_done).
    pub fn code(self) -> &'static str {
        match self {
            Action::BioComplete => "Cb",
            Action::RqMerge => "Mr",
            Action::RqRemap => "Ar",
            Action::RqError => "Er",
            Action::IoStart => "Is",
            Action::IoDone => "Id",
            other => other.letter().unwrap_or("-"),
        }
    }

    /// The action of a letter printed by blkparse. `m` (message) is not an event and gives `None`.
    pub fn from_letter(s: &[u8]) -> Option<Action> {
        Some(match s {
            b"Q" => Action::Queue,
            b"G" => Action::GetRq,
            b"I" => Action::Insert,
            b"D" => Action::Issue,
            b"R" => Action::Requeue,
            b"C" => Action::Complete,
            b"M" => Action::BackMerge,
            b"F" => Action::FrontMerge,
            b"P" => Action::Plug,
            b"U" => Action::Unplug,
            b"UT" => Action::UnplugTimer,
            b"X" => Action::Split,
            b"A" => Action::Remap,
            b"B" => Action::Bounce,
            b"S" => Action::SleepRq,
            _ => return None,
        })
    }

    /// The tracepoint's name without its subsystem. `Complete` and `Unplug` stand for the request and explicit forms.
    pub fn tracepoint(self) -> &'static str {
        match self {
            Action::Queue => "block_bio_queue",
            Action::GetRq => "block_getrq",
            Action::Insert => "block_rq_insert",
            Action::Issue => "block_rq_issue",
            Action::Requeue => "block_rq_requeue",
            Action::Complete => "block_rq_complete",
            Action::BioComplete => "block_bio_complete",
            Action::BackMerge => "block_bio_backmerge",
            Action::FrontMerge => "block_bio_frontmerge",
            Action::RqMerge => "block_rq_merge",
            Action::Plug => "block_plug",
            Action::Unplug | Action::UnplugTimer => "block_unplug",
            Action::Split => "block_split",
            Action::Remap => "block_bio_remap",
            Action::RqRemap => "block_rq_remap",
            Action::Bounce => "block_bio_bounce",
            Action::SleepRq => "block_sleeprq",
            Action::RqError => "block_rq_error",
            Action::IoStart => "block_io_start",
            Action::IoDone => "block_io_done",
        }
    }

    /// The action of a tracepoint, with or without the `block_` prefix being part of a longer name. `None` if it is
    /// not an event of a bio, a request or a plug.
    pub fn from_tracepoint(name: &[u8]) -> Option<Action> {
        Action::ALL
            .into_iter()
            .filter(|a| *a != Action::UnplugTimer)
            .find(|a| a.tracepoint().as_bytes() == name)
    }

    /// True for events about a plug, which name no device sector.
    pub fn is_plug(self) -> bool {
        matches!(self, Action::Plug | Action::Unplug | Action::UnplugTimer)
    }
}
