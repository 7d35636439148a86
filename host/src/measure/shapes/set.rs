//! Sets of shapes: files of comma-separated values, or random ones.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use gpu_kernels::MAX_SIZE;

use super::random;
use crate::Error;
use crate::backend::{Case, Op, Order};

/// What a set's name begins with where its shapes are drawn.
const RANDOM: &str = "random:";

/// The most random shapes: more are a slip of the finger.
const MOST_RANDOM: u32 = 100_000;

/// The columns that a file may have; it must have the first three.
const COLUMNS: [&str; 8] = ["m", "n", "k", "op_a", "op_b", "order", "batch", "count"];

/// Shapes to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// What it is called: the file's name without its folder, or as it was asked for.
    pub name: String,
    /// The shapes.
    pub cases: Vec<Case>,
    /// What was left out of the file, in lines for people.
    pub notes: Vec<String>,
}

impl Set {
    /// The set of that name: `random:COUNT:SEED`, or a file. What it does not say of a shape, such as its batch, is as in `plain`.
    ///
    /// ```
    /// use host::backend::Case;
    /// use host::measure::shapes::Set;
    ///
    /// let plain = Case::new([1, 1, 1]);
    /// let set = Set::read("random:200:1", &plain)?;
    /// assert_eq!((set.cases.len(), set.cases[0].batch), (200, 1));
    /// let set = Set::parse("layers.csv", "# of a network\nm, n, k, op_b, batch\n64, 768, 768, t, 12\n", &plain)?;
    /// assert_eq!((set.cases[0].sizes, set.cases[0].batch), ([64, 768, 768], 12));
    /// # Ok::<(), host::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadShapes`], with the line of a file that is none of it.
    pub fn read(name: &str, plain: &Case) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadShapes { set: name.to_owned(), reason };
        if let Some(rest) = name.strip_prefix(RANDOM) {
            let (count, seed) = rest.split_once(':').unwrap_or((rest, ""));
            let count: Option<u32> = count.parse().ok().filter(|count| (1..=MOST_RANDOM).contains(count));
            let (Some(count), Ok(seed)) = (count, seed.parse()) else {
                return Err(bad(format!(
                    "give {RANDOM}COUNT:SEED with at most {MOST_RANDOM} shapes, such as {RANDOM}200:1"
                )));
            };
            let cases = random::shapes(count, seed).into_iter().map(|sizes| Case { sizes, ..*plain });
            return Ok(Self { name: name.to_owned(), cases: cases.collect(), notes: Vec::new() });
        }
        let text = results::read_text(Path::new(name)).map_err(|error| bad(error.to_string()))?;
        let file =
            Path::new(name).file_name().map_or_else(|| name.to_owned(), |file| file.to_string_lossy().into_owned());
        Ok(Self { name: file, ..Self::parse(name, &text, plain)? })
    }

    /// The shapes of a file's text: a header with the columns' names, a line for each shape, and comments behind #.
    ///
    /// # Errors
    /// As of [`Self::read`].
    pub fn parse(name: &str, text: &str, plain: &Case) -> Result<Self, Error> {
        let at = |line: u64, reason: String| Error::BadShapes {
            set: name.to_owned(),
            reason: format!("line {line}: {reason}"),
        };
        let lines =
            (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.trim().starts_with('#'));
        let values = |(number, line)| fields(line).map(|values| (number, values)).map_err(|reason| at(number, reason));
        let mut lines = lines.map(values);
        let (header_line, headers) = lines.next().transpose()?.unwrap_or((1, StringRecord::new()));
        let column = |name: &str| headers.iter().position(|header| header.eq_ignore_ascii_case(name));
        if let Some(missing) = COLUMNS[..3].iter().find(|name| column(name).is_none()) {
            let header = headers.iter().collect::<Vec<_>>().join(",");
            let known = COLUMNS.join(", ");
            return Err(at(header_line, format!("the header '{header}' has no column {missing}: it names {known}")));
        }
        let columns = COLUMNS.map(column);
        let (mut cases, mut empty) = (Vec::new(), 0);
        for line in lines {
            let (line, values) = line?;
            if values.len() != headers.len() {
                return Err(at(line, format!("{} values where the header has {}", values.len(), headers.len())));
            }
            match case(&values, &columns, plain).map_err(|reason| at(line, reason))? {
                Some(case) => cases.push(case),
                None => empty += 1,
            }
        }
        if cases.is_empty() {
            let reason = "there are no shapes in it".to_owned();
            return Err(Error::BadShapes { set: name.to_owned(), reason });
        }
        let mut notes = Vec::new();
        if empty > 0 {
            notes.push(format!("left out of {name}: shapes with a size of 0: {empty}"));
        }
        let is_known = |header: &&str| COLUMNS.iter().any(|name| header.eq_ignore_ascii_case(name));
        let unknown: Vec<_> = headers.iter().filter(|header| !is_known(header)).collect();
        if !unknown.is_empty() {
            notes.push(format!("columns of {name} that say nothing of a shape: {}", unknown.join(", ")));
        }
        Ok(Self { name: name.to_owned(), cases, notes })
    }
}

/// The values of a line.
fn fields(line: &str) -> Result<StringRecord, String> {
    let mut reader = ReaderBuilder::new().has_headers(false).trim(Trim::All).from_reader(line.as_bytes());
    reader.records().next().unwrap_or_else(|| Ok(StringRecord::new())).map_err(|error| error.to_string())
}

/// The shape of a line; `None` where there is nothing to compute.
fn case(record: &StringRecord, columns: &[Option<usize>; 8], plain: &Case) -> Result<Option<Case>, String> {
    let value = |place: usize| columns[place].and_then(|column| record.get(column)).filter(|value| !value.is_empty());
    let number = |place: usize, default: Option<u64>, most: u64| {
        let Some(text) = value(place) else {
            return default.ok_or_else(|| format!("{} is missing", COLUMNS[place]));
        };
        let number: Option<u64> = text.parse().ok().filter(|number| *number <= most);
        number.ok_or_else(|| format!("{} = '{text}' is no whole number from 0 to {most}", COLUMNS[place]))
    };
    let op = |place: usize, default: Op| {
        value(place).map_or(Ok(default), |text| {
            Op::find(text).ok_or_else(|| format!("{} = '{text}' is neither n nor t", COLUMNS[place]))
        })
    };
    let size = |place: usize| number(place, None, MAX_SIZE.into()).map(|size| size as u32);
    let sizes = [size(0)?, size(1)?, size(2)?];
    let order = value(5).map_or(Ok(plain.order), |text| {
        Order::find(text).ok_or_else(|| format!("order = '{text}' is neither row nor column"))
    })?;
    let case = Case {
        sizes,
        ops: [op(3, plain.ops[0])?, op(4, plain.ops[1])?],
        order,
        batch: number(6, Some(plain.batch.into()), MAX_SIZE.into())? as u32,
        count: number(7, Some(plain.count), u32::MAX.into())?,
    };
    let is_empty = sizes.contains(&0) || case.batch == 0 || case.count == 0;
    Ok((!is_empty).then_some(case))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Case = Case { sizes: [1; 3], ops: [Op::N; 2], order: Order::Row, batch: 1, count: 1 };

    fn parse(text: &str) -> Result<Set, String> {
        Set::parse("x.csv", text, &PLAIN).map_err(|error| error.to_string())
    }

    #[test]
    fn files_have_comments_a_header_and_columns_in_any_order() {
        let set = parse("# a comment\nm,n,k\n1,2,3\n# another\n\n 4 , 5 , 6 \n").unwrap();
        assert_eq!(set.cases, [Case::new([1, 2, 3]), Case::new([4, 5, 6])]);
        assert!(set.notes.is_empty());
        let set =
            parse("K,count,M,N,op_b,order,batch,op_a,layer\n3,7,1,2,T,column,9,n,\"first, of all\"\n3,,1,2,,,,,\n")
                .unwrap();
        let full = Case { ops: [Op::N, Op::T], order: Order::Column, batch: 9, count: 7, ..Case::new([1, 2, 3]) };
        assert_eq!(set.cases, [full, Case::new([1, 2, 3])]);
        assert_eq!(set.notes, ["columns of x.csv that say nothing of a shape: layer"]);
    }

    #[test]
    fn what_a_file_does_not_say_is_as_it_was_asked_for() {
        let plain = Case { ops: [Op::T; 2], batch: 4, ..PLAIN };
        let set = Set::parse("x", "m,n,k,op_a\n1,2,3,n\n", &plain).unwrap();
        assert_eq!(set.cases, [Case { sizes: [1, 2, 3], ops: [Op::N, Op::T], ..plain }]);
        let random = Set::read("random:3:5", &plain).unwrap();
        assert!(random.cases.iter().all(|case| (case.ops, case.batch) == ([Op::T; 2], 4)));
        assert_eq!(random.name, "random:3:5");
    }

    #[test]
    fn empty_shapes_are_left_out() {
        let set = parse("m,n,k,batch\n0,2,3,1\n1,2,0,1\n1,2,3,0\n1,2,3,1\n").unwrap();
        assert_eq!(
            (set.cases.len(), &*set.notes),
            (1, &["left out of x.csv: shapes with a size of 0: 3".to_owned()][..])
        );
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, words) in [
            ("m,n,k\n1,2,3\n# c\n1,x,3\n", "x.csv: line 4: n = 'x' is no whole number from 0 to 2147483647"),
            ("m,n,k\n1,2,-3\n", "x.csv: line 2: k = '-3' is no whole"),
            ("m,n,k\n1,2,2147483648\n", "x.csv: line 2: k = '2147483648' is no whole"),
            ("m,n,k\n1,2\n", "x.csv: line 2: 2 values where the header has 3"),
            ("\n# c\nm,n,k\n1,2,3,4\n", "x.csv: line 4: 4 values where the header has 3"),
            ("m,n,k,batch\n1,,3,1\n", "x.csv: line 2: n is missing"),
            ("m,n,k,op_a\n1,2,3,c\n", "x.csv: line 2: op_a = 'c' is neither n nor t"),
            ("m,n,k,order\n1,2,3,rows\n", "x.csv: line 2: order = 'rows' is neither row nor column"),
            ("# c\n1,2,3\n4,5,6\n", "x.csv: line 2: the header '1,2,3' has no column m: it names m, n, k, op_a,"),
            ("m,k\n", "has no column n"),
            ("", "x.csv: line 1: the header '' has no column m"),
            ("m,n,k\n", "x.csv: there are no shapes in it"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(words) && !error.contains('\n'), "{text:?}: {error}");
        }
    }

    #[test]
    fn random_sets_have_a_count_and_a_seed() {
        for name in [
            "random:",
            "random:5",
            "random:5:",
            "random:0:1",
            "random:x:1",
            "random:5:-1",
            "random:100001:1",
            "random:5:1:2",
        ] {
            let error = Set::read(name, &PLAIN).unwrap_err();
            assert!(error.to_string().contains("give random:COUNT:SEED"), "{name}: {error}");
        }
        let error = Set::read("/no/such/file.csv", &PLAIN).unwrap_err().to_string();
        assert!(error.starts_with("/no/such/file.csv: ") && error.contains("No such file"), "{error}");
    }
}
