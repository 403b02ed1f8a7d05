//! Names of the directories of a partitioned data set, as Hive wrote them first and Spark, polars and DuckDB read them:
//! `dev=259,0`.

/// What stands for a value that is absent.
pub const ABSENT: &str = "__HIVE_DEFAULT_PARTITION__";

/// The directory of a value: characters that file systems or readers could misunderstand become `%XX`.
pub fn directory(key: &str, value: Option<&str>) -> String {
    let mut out = format!("{key}=");
    match value {
        None | Some("") => out.push_str(ABSENT),
        Some(v) => {
            for c in v.chars() {
                if c.is_control() || r##""#%'*/:=?\{}[]^"##.contains(c) {
                    let mut bytes = [0; 4];
                    for b in c.encode_utf8(&mut bytes).bytes() {
                        out.push_str(&format!("%{b:02X}"));
                    }
                } else {
                    out.push(c);
                }
            }
        }
    }
    out
}

/// The key and value of a directory's name, if it has them. A value that is absent is `None`.
pub fn pair(name: &str) -> Option<(String, Option<String>)> {
    let (key, value) = name.split_once('=')?;
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return None;
    }
    let value = (value != ABSENT).then(|| decoded(value));
    Some((key.to_string(), value))
}

fn decoded(s: &str) -> String {
    let mut out = Vec::with_capacity(s.len());
    let mut rest = s.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(b) if *first == b'%' => {
                out.push(b);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        assert_eq!(directory("dev", Some("259,0")), "dev=259,0");
        assert_eq!(directory("comm", Some("a/b=é%")), "comm=a%2Fb%3Dé%25");
        assert_eq!(directory("comm", None), "comm=__HIVE_DEFAULT_PARTITION__");
        for v in ["259,0", "kworker/0:1", "a b", "100%", "é\n", ".."] {
            let name = directory("k", Some(v));
            assert_eq!(pair(&name), Some(("k".into(), Some(v.into()))), "{name}");
        }
        assert_eq!(pair(&directory("k", None)), Some(("k".into(), None)));
        for other in ["requests", "=x", "a b=c"] {
            assert_eq!(pair(other), None, "{other}");
        }
    }
}
