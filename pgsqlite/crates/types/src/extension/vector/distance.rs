//! Distances between stored values.
//!
//! A scan compares one value with all others: the one is decoded once ([`Asked`]), the others are decoded while they are compared.
//! Where the processor has AVX2 and FMA, [`avx2`] does that with their instructions. PostgreSQL's extension adds 32-bit floats in an order of
//! its own, too: last digits differ.

use super::{decode, decode_half, read_half_into, read_into, sparse, Kind};
use half::f16;
use half::slice::HalfFloatSliceExt;

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// `<->`
    L2,
    /// the square of it
    SquaredL2,
    /// `inner_product`
    Product,
    /// `<#>`
    NegativeProduct,
    /// `<=>`
    Cosine,
    /// `<+>`
    L1,
    /// by the angle between them, of which half a turn is 1
    Spherical,
}

/// A value that others are compared with.
#[derive(Debug, Clone)]
pub struct Asked {
    kind: Kind,
    stored: Vec<u8>,
    elements: Vec<f32>,
    /// the sum of its squares
    squares: f32,
}

impl Asked {
    pub fn new(kind: Kind, stored: &[u8]) -> Asked {
        let mut elements = Vec::new();
        match kind {
            Kind::Vector => read_into(stored, &mut elements),
            Kind::Half => read_half_into(stored, &mut elements),
            Kind::Sparse => elements.extend(sparse::iter(stored).map(|e| e.1)),
        }
        let squares = sum_of(Source::Dense(&elements), &elements, Term::Product);
        Asked { kind, stored: stored.to_vec(), elements, squares }
    }

    /// Whether it is this value.
    #[inline]
    pub fn is(&self, kind: Kind, stored: &[u8]) -> bool {
        self.kind == kind && self.stored == stored
    }

    /// The distance to a stored value of the same type and number of dimensions.
    pub fn distance(&self, metric: Metric, other: &[u8]) -> f64 {
        match self.kind {
            Kind::Vector => self.dense(metric, Source::Wide(other)),
            Kind::Half => {
                let mut elements = Vec::with_capacity(self.elements.len());
                read_half_into(other, &mut elements);
                self.dense(metric, Source::Dense(&elements))
            }
            Kind::Sparse => self.sparse(metric, other),
        }
    }

    fn dense(&self, metric: Metric, other: Source) -> f64 {
        let asked = &self.elements[..];
        match metric {
            Metric::L2 => f64::from(sum_of(other, asked, Term::SquaredDifference)).sqrt(),
            Metric::SquaredL2 => f64::from(sum_of(other, asked, Term::SquaredDifference)),
            Metric::Product => f64::from(sum_of(other, asked, Term::Product)),
            Metric::NegativeProduct => -f64::from(sum_of(other, asked, Term::Product)),
            Metric::L1 => f64::from(sum_of(other, asked, Term::Difference)),
            Metric::Spherical => spherical(f64::from(sum_of(other, asked, Term::Product))),
            Metric::Cosine => {
                let (product, squares) = products(other, asked);
                cosine(f64::from(product), f64::from(squares), f64::from(self.squares))
            }
        }
    }

    fn sparse(&self, metric: Metric, other: &[u8]) -> f64 {
        let (mut a, mut b) = (sparse::iter(&self.stored).peekable(), sparse::iter(other).peekable());
        let (mut squared, mut product, mut absolute, mut squares) = (0f32, 0f32, 0f32, 0f32);
        loop {
            let (x, y) = match (a.peek().copied(), b.peek().copied()) {
                (None, None) => break,
                (Some((i, x)), Some((j, y))) if i == j => {
                    a.next();
                    b.next();
                    (x, y)
                }
                (Some((i, x)), Some((j, _))) if i < j => {
                    a.next();
                    (x, 0.0)
                }
                (Some((_, x)), None) => {
                    a.next();
                    (x, 0.0)
                }
                (_, Some((_, y))) => {
                    b.next();
                    (0.0, y)
                }
            };
            squared += (x - y) * (x - y);
            product += x * y;
            absolute += (x - y).abs();
            squares += y * y;
        }
        match metric {
            Metric::L2 => f64::from(squared).sqrt(),
            Metric::SquaredL2 => f64::from(squared),
            Metric::Product => f64::from(product),
            Metric::NegativeProduct => -f64::from(product),
            Metric::L1 => f64::from(absolute),
            Metric::Spherical => spherical(f64::from(product)),
            Metric::Cosine => cosine(f64::from(product), f64::from(squares), f64::from(self.squares)),
        }
    }
}

fn cosine(product: f64, squares: f64, other_squares: f64) -> f64 {
    let similarity = product / (squares * other_squares).sqrt();
    // (NaN stays)
    1.0 - similarity.clamp(-1.0, 1.0)
}

fn spherical(product: f64) -> f64 {
    product.clamp(-1.0, 1.0).acos() / std::f64::consts::PI
}

/// Numbers that are compared with those of [`Asked`].
#[derive(Clone, Copy)]
enum Source<'a> {
    /// stored, of 32 bits
    Wide(&'a [u8]),
    /// in memory
    Dense(&'a [f32]),
}

/// What is added up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    SquaredDifference,
    Product,
    Difference,
}

impl Term {
    #[inline(always)]
    fn add(self, sum: f32, a: f32, b: f32) -> f32 {
        match self {
            Term::SquaredDifference => sum + (a - b) * (a - b),
            Term::Product => sum + a * b,
            Term::Difference => sum + (a - b).abs(),
        }
    }
}

/// The sum of a term over all pairs.
fn sum_of(a: Source, b: &[f32], term: Term) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if avx2::is_there() {
        // SAFETY: the processor has the instructions that the functions are compiled for.
        return unsafe {
            match a {
                Source::Wide(a) => avx2::sum_wide(a, b, term),
                Source::Dense(a) => avx2::sum_dense(a, b, term),
            }
        };
    }
    plain_sum(a, b, term)
}

/// The sum of the products of all pairs, and that of the squares of `a`.
fn products(a: Source, b: &[f32]) -> (f32, f32) {
    #[cfg(target_arch = "x86_64")]
    if avx2::is_there() {
        // SAFETY: as above.
        return unsafe {
            match a {
                Source::Wide(a) => avx2::products_wide(a, b),
                Source::Dense(a) => avx2::products_dense(a, b),
            }
        };
    }
    (plain_sum(a, b, Term::Product), plain_squares(a))
}

/// Sums that do not depend on each other, of which the compiler makes vector instructions.
const LANES: usize = 16;

fn plain_sum(a: Source, b: &[f32], term: Term) -> f32 {
    let decoded: Vec<f32>;
    let a = match a {
        Source::Dense(a) => a,
        Source::Wide(a) => {
            decoded = a.as_chunks().0.iter().map(|&e| decode(e)).collect();
            &decoded
        }
    };
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum = term.add(*sum, *a, *b);
        }
    }
    a_rest.iter().zip(b_rest).fold(sums.iter().sum(), |sum, (a, b)| term.add(sum, *a, *b))
}

fn plain_squares(a: Source) -> f32 {
    match a {
        Source::Dense(a) => plain_sum(Source::Dense(a), a, Term::Product),
        Source::Wide(a) => a.as_chunks().0.iter().map(|&e| decode(e) * decode(e)).sum(),
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! The same sums by AVX2 and FMA: 32 numbers at a time, in four registers of sums.

    use super::super::decode;
    use super::Term;
    use std::arch::x86_64::*;

    pub fn is_there() -> bool {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }

    /// Eight numbers in memory.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn dense(piece: &[f32; 8]) -> __m256 {
        // SAFETY: the piece is as long as what is read.
        unsafe { _mm256_loadu_ps(piece.as_ptr()) }
    }

    /// Eight stored numbers, as [`decode`] reads one.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn wide(piece: &[[u8; 4]; 8]) -> __m256 {
        // SAFETY: as above.
        let stored = unsafe { _mm256_loadu_si256(piece.as_ptr().cast()) };
        let order = _mm256_setr_epi8(
            3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
        );
        let bits = _mm256_shuffle_epi8(stored, order);
        let positive = _mm256_srai_epi32(bits, 31);
        let negative = _mm256_xor_si256(positive, _mm256_set1_epi32(-1));
        let inverted = _mm256_or_si256(negative, _mm256_set1_epi32(i32::MIN));
        _mm256_castsi256_ps(_mm256_xor_si256(bits, inverted))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn squared_difference(sum: __m256, a: __m256, b: __m256) -> __m256 {
        let difference = _mm256_sub_ps(a, b);
        _mm256_fmadd_ps(difference, difference, sum)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn product(sum: __m256, a: __m256, b: __m256) -> __m256 {
        _mm256_fmadd_ps(a, b, sum)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn difference(sum: __m256, a: __m256, b: __m256) -> __m256 {
        _mm256_add_ps(sum, _mm256_andnot_ps(_mm256_set1_ps(-0.0), _mm256_sub_ps(a, b)))
    }

    /// The sum of all lanes of four registers.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn total(sums: [__m256; 4]) -> f32 {
        let [a, b, c, d] = sums;
        let all = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
        let mut lanes = [0f32; 8];
        // SAFETY: there is place for eight numbers.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), all) };
        lanes.iter().sum()
    }

    /// The functions for one form of the first operand: its element, how eight of them are loaded, and how one is.
    macro_rules! functions {
        ($element:ty, $load:ident, $one:expr, $whole:expr, $sum:ident, $products:ident) => {
            #[target_feature(enable = "avx2,fma")]
            pub fn $sum(a: &[$element], b: &[f32], term: Term) -> f32 {
                macro_rules! over {
                    ($step:ident) => {{
                        let (a, b) = ($whole(a), b);
                        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
                        let ((a4, a8), (b4, b8)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
                        let mut sums = [_mm256_setzero_ps(); 4];
                        for ([a0, a1, a2, a3], [b0, b1, b2, b3]) in a4.iter().zip(b4) {
                            sums[0] = $step(sums[0], $load(a0), dense(b0));
                            sums[1] = $step(sums[1], $load(a1), dense(b1));
                            sums[2] = $step(sums[2], $load(a2), dense(b2));
                            sums[3] = $step(sums[3], $load(a3), dense(b3));
                        }
                        for (a, b) in a8.iter().zip(b8) {
                            sums[0] = $step(sums[0], $load(a), dense(b));
                        }
                        let rest = a_rest.iter().zip(b_rest);
                        rest.fold(total(sums), |sum, (a, b)| term.add(sum, $one(*a), *b))
                    }};
                }
                match term {
                    Term::SquaredDifference => over!(squared_difference),
                    Term::Product => over!(product),
                    Term::Difference => over!(difference),
                }
            }

            #[target_feature(enable = "avx2,fma")]
            pub fn $products(a: &[$element], b: &[f32]) -> (f32, f32) {
                let ((a, a_rest), (b, b_rest)) = ($whole(a).as_chunks::<8>(), b.as_chunks::<8>());
                let (mut products, mut squares) = ([_mm256_setzero_ps(); 4], [_mm256_setzero_ps(); 4]);
                let ((a2, a8), (b2, b8)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
                for ([a0, a1], [b0, b1]) in a2.iter().zip(b2) {
                    let (x, y) = ($load(a0), $load(a1));
                    products[0] = product(products[0], x, dense(b0));
                    products[1] = product(products[1], y, dense(b1));
                    squares[0] = product(squares[0], x, x);
                    squares[1] = product(squares[1], y, y);
                }
                for (a, b) in a8.iter().zip(b8) {
                    let x = $load(a);
                    products[0] = product(products[0], x, dense(b));
                    squares[0] = product(squares[0], x, x);
                }
                let rest = a_rest.iter().zip(b_rest).map(|(a, b)| ($one(*a), *b));
                rest.fold((total(products), total(squares)), |(p, s), (a, b)| (p + a * b, s + a * a))
            }
        };
    }

    functions!(u8, wide, decode, whole_numbers, sum_wide, products_wide);
    functions!(f32, dense, std::convert::identity, std::convert::identity, sum_dense, products_dense);

    fn whole_numbers(stored: &[u8]) -> &[[u8; 4]] {
        stored.as_chunks().0
    }
}

/// The length of a value, computed with 64 bits.
pub fn norm(kind: Kind, stored: &[u8]) -> f64 {
    let square = |e: f32| f64::from(e) * f64::from(e);
    let squares: f64 = match kind {
        Kind::Vector => stored.as_chunks().0.iter().map(|&e| square(decode(e))).sum(),
        Kind::Half => {
            let halves: Vec<f16> = stored.as_chunks().0.iter().map(|&e| f16::from_bits(decode_half(e))).collect();
            halves.to_f32_vec().into_iter().map(square).sum()
        }
        Kind::Sparse => sparse::iter(stored).map(|e| square(e.1)).sum(),
    };
    squares.sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::{store, Kind};
    use super::*;
    use crate::Datum;

    fn bytes(elements: &[f32]) -> Vec<u8> {
        match store(elements) {
            Datum::Blob(b) => b,
            _ => Vec::new(),
        }
    }

    /// The loops that are compiled for this processor and those that are not add up the same.
    #[test]
    fn all_loops_give_the_same() {
        for length in [1usize, 3, 15, 16, 17, 100, 768] {
            let a: Vec<f32> = (0..length).map(|i| ((i * 37 % 19) as f32) - 9.0).collect();
            let b: Vec<f32> = (0..length).map(|i| ((i * 53 % 23) as f32) - 11.0).collect();
            let (stored, asked) = (bytes(&a), Asked::new(Kind::Vector, &bytes(&b)));
            let plain: f32 = a.iter().zip(&b).map(|(x, y)| (x - y) * (x - y)).sum();
            assert_eq!(asked.distance(Metric::SquaredL2, &stored), f64::from(plain));
            let product: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            assert_eq!(asked.distance(Metric::Product, &stored), f64::from(product));
            let absolute: f32 = a.iter().zip(&b).map(|(x, y)| (x - y).abs()).sum();
            assert_eq!(asked.distance(Metric::L1, &stored), f64::from(absolute));
            let wide = Source::Wide(&stored);
            assert_eq!(products(wide, &b), (plain_sum(wide, &b, Term::Product), plain_squares(wide)));
            for term in [Term::SquaredDifference, Term::Product, Term::Difference] {
                assert_eq!(sum_of(wide, &b, term), plain_sum(wide, &b, term));
                assert_eq!(sum_of(Source::Dense(&a), &b, term), plain_sum(Source::Dense(&a), &b, term));
            }
        }
    }
}
