//! `ts_rewrite`: parts of a query are replaced by other queries.
//!
//! A query is worked on as a tree in which AND and OR have any number of operands, sorted, so that a part may be some of them.

use super::tsquery::{checksum, Node, Operand, Query};
use std::cmp::Ordering;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    Not,
    And,
    Or,
    Phrase(u16),
}

impl Joint {
    fn number(self) -> u8 {
        match self {
            Joint::Not => 1,
            Joint::And => 2,
            Joint::Or => 3,
            Joint::Phrase(_) => 4,
        }
    }
    fn is_associative(self) -> bool {
        matches!(self, Joint::And | Joint::Or)
    }
}

#[derive(Debug, Clone)]
enum Kind {
    Word(Operand),
    /// the operands from right to left
    Joined(Joint, Vec<Tree>),
}

#[derive(Debug, Clone)]
struct Tree {
    kind: Kind,
    /// it was put in just now: nothing in it is looked for
    new: bool,
}

impl Tree {
    fn of(node: &Node) -> Option<Tree> {
        let joined = |joint, parts: &[&Node]| -> Option<Kind> {
            Some(Kind::Joined(joint, parts.iter().map(|n| Tree::of(n)).collect::<Option<Vec<_>>>()?))
        };
        let kind = match node {
            Node::Operand(operand) => Kind::Word(operand.clone()),
            Node::Stop => return None,
            Node::Not(inner) => joined(Joint::Not, &[inner])?,
            Node::And(a, b) => joined(Joint::And, &[b, a])?,
            Node::Or(a, b) => joined(Joint::Or, &[b, a])?,
            Node::Phrase(a, b, distance) => joined(Joint::Phrase(*distance), &[b, a])?,
        };
        Some(Tree { kind, new: false })
    }

    /// Back to a tree of pairs.
    fn to_node(&self) -> Option<Node> {
        let (joint, parts) = match &self.kind {
            Kind::Word(operand) => return Some(Node::Operand(operand.clone())),
            Kind::Joined(joint, parts) => (*joint, parts),
        };
        let mut nodes: Vec<Node> = parts.iter().map(Tree::to_node).collect::<Option<Vec<_>>>()?;
        let join = |left: Node, right: Node| {
            let (left, right) = (Box::new(left), Box::new(right));
            match joint {
                Joint::And | Joint::Not => Node::And(left, right),
                Joint::Or => Node::Or(left, right),
                Joint::Phrase(distance) => Node::Phrase(left, right, distance),
            }
        };
        if joint == Joint::Not {
            return Some(Node::Not(Box::new(nodes.pop()?)));
        }
        // the first two become one, and the last takes the second's place
        while nodes.len() > 2 {
            crate::work::pulse(1);
            let last = nodes.pop()?;
            let second = std::mem::replace(&mut nodes[1], last);
            let first = std::mem::replace(&mut nodes[0], Node::Stop);
            nodes[0] = join(second, first);
        }
        let left = nodes.pop()?;
        match nodes.pop() {
            Some(right) => Some(join(left, right)),
            None => Some(left),
        }
    }

    /// Operands of operands of the same kind become its own.
    fn flatten(&mut self) {
        let Kind::Joined(joint, parts) = &mut self.kind else { return };
        parts.iter_mut().for_each(Tree::flatten);
        if !joint.is_associative() {
            return;
        }
        let mut flat = Vec::with_capacity(parts.len());
        for part in std::mem::take(parts) {
            crate::work::pulse(1);
            match part {
                Tree { kind: Kind::Joined(inner, inner_parts), .. } if inner == *joint => flat.extend(inner_parts),
                other => flat.push(other),
            }
        }
        *parts = flat;
    }

    fn sort(&mut self) {
        let Kind::Joined(joint, parts) = &mut self.kind else { return };
        parts.iter_mut().for_each(Tree::sort);
        if !matches!(joint, Joint::Phrase(_)) {
            parts.sort_by(Tree::compare);
        }
    }

    fn prepared(node: &Node) -> Option<Tree> {
        let mut tree = Tree::of(node)?;
        tree.flatten();
        tree.sort();
        Some(tree)
    }

    fn compare(&self, other: &Tree) -> Ordering {
        match (&self.kind, &other.kind) {
            (Kind::Joined(..), Kind::Word(_)) => Ordering::Less,
            (Kind::Word(_), Kind::Joined(..)) => Ordering::Greater,
            (Kind::Word(a), Kind::Word(b)) => {
                checksum(&b.text).cmp(&checksum(&a.text)).then_with(|| a.text.as_bytes().cmp(b.text.as_bytes()))
            }
            (Kind::Joined(a, x), Kind::Joined(b, y)) => b
                .number()
                .cmp(&a.number())
                .then_with(|| y.len().cmp(&x.len()))
                .then_with(|| x.iter().zip(y).map(|(p, q)| p.compare(q)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal))
                .then_with(|| match (a, b) {
                    (Joint::Phrase(a), Joint::Phrase(b)) => b.cmp(a),
                    _ => Ordering::Equal,
                }),
        }
    }

    fn clear_marks(&mut self) {
        self.new = false;
        if let Kind::Joined(_, parts) = &mut self.kind {
            parts.iter_mut().for_each(Tree::clear_marks);
        }
    }
}

/// What is looked for, and what takes its place (None: nothing).
struct Rule {
    example: Tree,
    substitute: Option<Tree>,
}

impl Rule {
    fn new_part(&self) -> Option<Tree> {
        self.substitute.clone().map(|tree| Tree { new: true, ..tree })
    }

    /// The tree with the example replaced at its root.
    fn at_root(&self, mut tree: Tree, found: &mut bool) -> Option<Tree> {
        if tree.new {
            return Some(tree);
        }
        let whole = match (&mut tree.kind, &self.example.kind) {
            (Kind::Word(_), Kind::Word(_)) => true,
            (Kind::Joined(a, parts), Kind::Joined(b, wanted)) if a.number() == b.number() => {
                if parts.len() > wanted.len() && !wanted.is_empty() {
                    self.some_of(parts, wanted, found);
                    return Some(tree);
                }
                parts.len() == wanted.len()
            }
            _ => false,
        };
        if whole && tree.compare(&self.example).is_eq() {
            *found = true;
            return self.new_part();
        }
        Some(tree)
    }

    /// Replaces some operands, if all that are looked for are there. Both lists are sorted.
    fn some_of(&self, parts: &mut Vec<Tree>, wanted: &[Tree], found: &mut bool) {
        let mut matched = vec![false; parts.len()];
        let (mut i, mut j) = (0, 0);
        while i < parts.len() && j < wanted.len() {
            crate::work::pulse(1);
            match parts[i].compare(&wanted[j]) {
                Ordering::Equal => {
                    matched[i] = true;
                    i += 1;
                    j += 1;
                }
                Ordering::Less => i += 1,
                Ordering::Greater => break,
            }
        }
        if j < wanted.len() {
            return;
        }
        let mut matched = matched.into_iter();
        parts.retain(|_| !matched.next().unwrap_or(false));
        parts.extend(self.new_part());
        parts.iter_mut().for_each(Tree::sort);
        parts.sort_by(Tree::compare);
        *found = true;
    }

    fn everywhere(&self, tree: Tree, found: &mut bool) -> Option<Tree> {
        let mut tree = self.at_root(tree, found)?;
        if tree.new {
            return Some(tree);
        }
        if let Kind::Joined(joint, parts) = &mut tree.kind {
            let old = std::mem::take(parts);
            parts.extend(old.into_iter().filter_map(|part| self.everywhere(part, found)));
            match parts.len() {
                0 => return None,
                1 if *joint != Joint::Not => return parts.pop(),
                _ => {}
            }
        }
        Some(tree)
    }
}

/// A query under rewriting by several rules, one after the other.
pub struct Rewriting(Option<Tree>);

impl Rewriting {
    pub fn new(query: &Query) -> Rewriting {
        Rewriting(query.0.as_ref().and_then(Tree::prepared))
    }

    /// Replaces `example` by `substitute` wherever it stands. False: nothing is left of the query.
    pub fn apply(&mut self, example: &Query, substitute: &Query) -> bool {
        let Some(tree) = self.0.take() else { return false };
        let Some(example) = example.0.as_ref().and_then(Tree::prepared) else {
            self.0 = Some(tree);
            return true;
        };
        let rule = Rule { example, substitute: substitute.0.as_ref().and_then(Tree::of) };
        let mut found = false;
        self.0 = rule.everywhere(tree, &mut found);
        self.0.is_some()
    }

    /// Makes what rules have put in part of what the next ones look at.
    pub fn settle(&mut self) {
        if let Some(tree) = &mut self.0 {
            tree.clear_marks();
            tree.flatten();
            tree.sort();
        }
    }

    pub fn finish(&self) -> Query {
        Query(self.0.as_ref().and_then(Tree::to_node))
    }
}
