//! Which files tables are written as.

use std::path::Path;

/// A kind of file that holds a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Apache Parquet: pages compressed with zstd, minima and maxima of every row group.
    Parquet,
    /// The Arrow IPC file format, also called Feather 2: buffers compressed with LZ4.
    Arrow,
}

impl FileKind {
    /// What a file's name asks for: `.parquet`; `.arrow`, `.ipc`, `.feather`.
    pub fn of_path(p: &Path) -> Option<FileKind> {
        let ext = p.extension()?.to_str()?.to_ascii_lowercase();
        match ext.as_str() {
            "parquet" => Some(FileKind::Parquet),
            "arrow" | "ipc" | "feather" => Some(FileKind::Arrow),
            _ => None,
        }
    }

    /// The end of such a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            FileKind::Parquet => "parquet",
            FileKind::Arrow => "arrow",
        }
    }

    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Parquet => "Parquet",
            FileKind::Arrow => "Arrow",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kind() {
        let of = |s: &str| FileKind::of_path(Path::new(s));
        assert_eq!(of("a/b.parquet"), Some(FileKind::Parquet));
        assert_eq!(of("B.PARQUET"), Some(FileKind::Parquet));
        for arrow in ["x.arrow", "x.ipc", "x.y.feather"] {
            assert_eq!(of(arrow), Some(FileKind::Arrow), "{arrow}");
        }
        for other in ["x.csv", "parquet", ".parquet", "x.parquet.gz", "x"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
