//! Damage to bytes, the same in every run: bits, cuts, blocks, junk, long lines, extreme numbers.

/// SplitMix64: any sequence would do, as long as it is the same everywhere.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

/// What may stand where a number stood.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "+5",
    "511",
    "65535",
    "65536",
    "1048576",
    "2147483648",
    "4294967295",
    "4294967296",
    "36028797018963968",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551614",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "99999999999999999999999999999999999999999",
    "00000000000000000000000000000000000000007",
    "9223372036.854775807",
    "9223372037",
    "0.0000000000000000001",
    "1e308",
    "0xffffffffffffffff",
    "",
];

/// The same in bytes, for records.
const FIELDS: &[u64] = &[
    0,
    1,
    0xff,
    0xffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 63,
    u64::MAX,
    i64::MAX as u64,
];

/// No line of any format.
const JUNK: &[u8] = b"\x01\x02~~ \xff\xfe {{ not of any trace }} ~~\x03";

/// Damaged bytes, and how they came to be.
pub struct Mutant {
    pub bytes: Vec<u8>,
    pub how: String,
    /// Lines of [`JUNK`] between others, if nothing else was done.
    pub junk: u64,
    /// Only the end was taken off.
    pub cut: bool,
}

/// Damages `sound`.
pub fn mutate(sound: &[u8], text: bool, r: &mut Rng) -> Mutant {
    let mut m = Mutant {
        bytes: sound.to_vec(),
        how: String::new(),
        junk: 0,
        cut: false,
    };
    // One in four has several wounds.
    let n = if r.below(4) == 0 { 2 + r.below(4) } else { 1 };
    for _ in 0..n {
        let (cut, junk) = match r.below(16) {
            kind @ 0..7 => bytewise(kind, &mut m, r),
            kind => blockwise(kind, text, &mut m, r),
        };
        m.cut = cut && n == 1;
        m.junk = if n == 1 { junk } else { 0 };
    }
    m
}

/// Damage that knows no lines; whether it only cut, and lines of junk.
fn bytewise(kind: usize, m: &mut Mutant, r: &mut Rng) -> (bool, u64) {
    let len = m.bytes.len();
    let at = r.below(len);
    let (word, cut) = match kind {
        0 => {
            if let Some(b) = m.bytes.get_mut(at) {
                *b ^= 1 << r.below(8);
            }
            ("bit", false)
        }
        1 => {
            for _ in 0..1 + r.below(24) {
                let at = r.below(len);
                if let Some(b) = m.bytes.get_mut(at) {
                    *b = r.next() as u8;
                }
            }
            ("bytes", false)
        }
        2 => {
            m.bytes.truncate(at);
            ("cut end", true)
        }
        3 => {
            m.bytes.drain(..at);
            ("cut start", false)
        }
        4 => {
            let n = 1 + r.below(200);
            m.bytes.drain(at..(at + n).min(len));
            ("cut middle", false)
        }
        5 => {
            let n = 1 + r.below(100);
            let junk = r.bytes(n);
            m.bytes.splice(at..at, junk);
            ("junk", false)
        }
        _ => {
            let n = 1 + r.below(5000);
            let to = (at + r.below(40)).min(len);
            m.bytes.splice(at..to, vec![0; n]);
            ("zeros", false)
        }
    };
    m.how += &format!("{word} at {at} of {len}; ");
    (cut, 0)
}

/// Where lines, or what stands for them in records, begin.
fn starts(bytes: &[u8], text: bool) -> Vec<usize> {
    if !text {
        return (0..bytes.len()).step_by(8).chain([bytes.len()]).collect();
    }
    let ends = bytes.iter().enumerate().filter(|b| *b.1 == b'\n');
    let mut all: Vec<usize> = [0].into_iter().chain(ends.map(|e| e.0 + 1)).collect();
    if all.last() != Some(&bytes.len()) {
        all.push(bytes.len());
    }
    all
}

/// Damage to lines and blocks of lines.
fn blockwise(kind: usize, text: bool, m: &mut Mutant, r: &mut Rng) -> (bool, u64) {
    let starts = starts(&m.bytes, text);
    let n = starts.len();
    let a = r.below(n);
    let most = *r.pick(&[3, 60]);
    let b = (a + 1 + r.below(most)).min(n - 1);
    let to = starts[r.below(n)];
    let (from, end) = (starts[a], starts[b].max(starts[a]));
    let block = m.bytes[from..end].to_vec();
    let mut junk = 0;
    let word = match kind {
        7 => {
            m.bytes.splice(to..to, block);
            "twice"
        }
        8 => {
            m.bytes.drain(from..end);
            "block gone"
        }
        9 | 10 => {
            let to = if to > from && to < end { from } else { to };
            m.bytes.drain(from..end);
            let to = if to >= end { to - block.len() } else { to };
            m.bytes.splice(to..to, block);
            "moved"
        }
        11 if text => {
            let lines = 1 + r.below(3);
            for _ in 0..lines {
                m.bytes.splice(to..to, [JUNK, b"\n"].concat());
            }
            junk = lines as u64;
            "junk line"
        }
        12 if text => {
            let long = *r.pick(&[500, 5_000, 65_535, 65_537, 300_000]);
            let fill = *r.pick(b"x 7,(");
            let at = from + r.below(end - from + 1);
            m.bytes.splice(at..at, vec![fill; long]);
            "long line"
        }
        _ => {
            extreme(text, m, r);
            "number"
        }
    };
    m.how += &format!("{word} {from}..{end} at {to}; ");
    (false, junk)
}

/// Another number where one stood.
fn extreme(text: bool, m: &mut Mutant, r: &mut Rng) {
    if m.bytes.is_empty() {
        return;
    }
    let at = r.below(m.bytes.len());
    if !text {
        let n = *r.pick(&[2, 4, 8]);
        let at = at / n * n;
        let value = r.pick(FIELDS).to_le_bytes();
        for (b, v) in m.bytes.iter_mut().skip(at).zip(&value[..n]) {
            *b = *v;
        }
        return;
    }
    let Some(start) = (at..m.bytes.len()).find(|i| m.bytes[*i].is_ascii_digit()) else {
        return;
    };
    let rest = &m.bytes[start..];
    let n = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let new = r.pick(NUMBERS).bytes();
    m.bytes.splice(start..start + n, new);
}
