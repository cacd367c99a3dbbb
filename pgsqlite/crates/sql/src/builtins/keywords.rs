//! The words of the grammar, as `pg_get_keywords` shows them; read from the data file that gen/catalogs.sh wrote.

/// A word that the grammar knows.
#[derive(Debug, Clone, Copy)]
pub struct Keyword {
    pub word: &'static str,
    /// `U` unreserved, `C` not for functions and types, `T` only for functions and types, `R` reserved
    pub category: &'static str,
    /// may be a column's label without AS
    pub bare_label: bool,
}

impl Keyword {
    /// The category in words.
    pub fn category_description(&self) -> &'static str {
        match self.category {
            "U" => "unreserved",
            "C" => "unreserved (cannot be function or type name)",
            "T" => "reserved (can be function or type name)",
            _ => "reserved",
        }
    }
    pub fn label_description(&self) -> &'static str {
        if self.bare_label {
            "can be bare label"
        } else {
            "requires AS"
        }
    }
}

/// All words, in the order of the alphabet.
pub fn keywords() -> impl Iterator<Item = Keyword> {
    include_str!("../../data/keywords.tsv").lines().skip(1).filter_map(|line| {
        let mut fields = line.split('\t');
        Some(Keyword { word: fields.next()?, category: fields.next()?, bare_label: fields.next()? == "t" })
    })
}
