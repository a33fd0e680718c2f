//! Mutants of thread programs: one test on the way to global memory is made weaker, dropped, or
//! given another limit, and the certificate has to refuse the program.
//!
//! In: a program. Out: every mutant of it, each a [`Site`] and a [`Change`]. The tests are the
//! conditions of branches with accesses in them and the counts of valid bytes, where an extent
//! decides them, and the values that those are computed from by sums, differences and choices.
//! `ci/data/mutants/guards.txt` has the mutants that the certificate may accept, each with the
//! proof that it changes no access.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tilewright_codegen::atoms::model::Space;
use tilewright_codegen::ir::thread::program::{
    Arg, BinOp, CmpOp, Expr, IntType, ParamId, ParamType, Program, Stmt, VarId,
};
use tilewright_codegen::ir::thread::text;

/// Where a mutant differs: the number of an expression of the program, and the way into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    root: usize,
    path: Vec<usize>,
}

/// What a mutant does there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The test holds for one more.
    Weaken,
    /// The test always holds.
    Drop,
    /// Of the lesser or greater of two, that one.
    Keep(usize),
    /// The limit is one more.
    LimitPlusOne,
    /// Another extent is the limit.
    Limit(ParamId),
}

/// One mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// Where.
    pub site: Site,
    /// What.
    pub change: Change,
}

/// What an expression of a statement is for.
enum Use {
    /// A variable is given it.
    Value(VarId),
    /// It decides whether global memory is reached.
    Test,
    /// It decides how much of it.
    Size,
    /// Something else.
    Other,
}

impl Mutant {
    /// Every mutant of the program.
    pub fn all(program: &Program) -> Vec<Mutant> {
        let mut roots = Vec::new();
        each_root(&program.body, &mut |how, expr| roots.push((how, expr)));
        let mut slice = Slice::new(program, roots);
        slice.collect();
        slice.mutants
    }

    /// The mutant's program.
    pub fn of(&self, program: &Program) -> Program {
        let mut mutant = program.clone();
        let mut left = self.site.root;
        if let Some(root) = root_mut(&mut mutant.body, &mut left) {
            change(root, &self.site.path, self.change);
        }
        mutant
    }

    /// The expression that differs, as it was or as it is in the mutant's program.
    pub fn text(&self, program: &Program) -> String {
        let mut roots = Vec::new();
        each_root(&program.body, &mut |_, expr| roots.push(expr));
        let root = roots.get(self.site.root);
        root.map(|expr| text::expression(program, expr))
            .unwrap_or_default()
    }

    /// Its name: `12.01:weaken`.
    pub fn id(&self, program: &Program) -> String {
        let path: String = self.site.path.iter().map(ToString::to_string).collect();
        let what = match self.change {
            Change::Weaken => "weaken".to_owned(),
            Change::Drop => "drop".to_owned(),
            Change::Keep(side) => format!("keep:{side}"),
            Change::LimitPlusOne => "limit:one more".to_owned(),
            Change::Limit(param) => {
                let param = program.params.get(param.0 as usize);
                format!("limit:{}", param.map_or("?", |param| param.name.as_str()))
            }
        };
        format!("{}.{path}:{what}", self.site.root)
    }
}

/// Every expression that decides something, in the order of the text.
fn each_root<'p>(body: &'p [Stmt], see: &mut dyn FnMut(Use, &'p Expr)) {
    for statement in body {
        match statement {
            Stmt::Let(var, value)
            | Stmt::Pin(var, value)
            | Stmt::Uniform(var, value)
            | Stmt::Assign(var, value) => see(Use::Value(*var), value),
            Stmt::For { body, .. } => each_root(body, see),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let decides = reaches_memory(then) || reaches_memory(otherwise);
                see(if decides { Use::Test } else { Use::Other }, cond);
                each_root(then, see);
                each_root(otherwise, see);
            }
            Stmt::Atom { atom, args } => {
                let copy = atom.copy.as_ref();
                let sized = copy.and_then(|copy| copy.src_bytes.as_ref());
                for (operand, arg) in atom.operands.iter().zip(args) {
                    if let Arg::Int(value) = arg {
                        let size = sized == Some(&operand.name);
                        see(if size { Use::Size } else { Use::Other }, value);
                    }
                }
            }
            Stmt::Zero(_) | Stmt::Set(..) | Stmt::Get(..) | Stmt::From(_) => {}
        }
    }
}

/// The expression of that number, in the order of [`each_root`].
fn root_mut<'p>(body: &'p mut [Stmt], left: &mut usize) -> Option<&'p mut Expr> {
    fn counted<'p>(expr: &'p mut Expr, left: &mut usize) -> Option<&'p mut Expr> {
        match *left {
            0 => Some(expr),
            _ => {
                *left -= 1;
                None
            }
        }
    }
    for statement in body {
        let found = match statement {
            Stmt::Let(_, value)
            | Stmt::Pin(_, value)
            | Stmt::Uniform(_, value)
            | Stmt::Assign(_, value) => counted(value, left),
            Stmt::For { body, .. } => root_mut(body, left),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => match counted(cond, left) {
                Some(cond) => Some(cond),
                None => match root_mut(then, left) {
                    Some(found) => Some(found),
                    None => root_mut(otherwise, left),
                },
            },
            Stmt::Atom { args, .. } => args.iter_mut().find_map(|arg| match arg {
                Arg::Int(value) => counted(value, left),
                _ => None,
            }),
            Stmt::Zero(_) | Stmt::Set(..) | Stmt::Get(..) | Stmt::From(_) => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Whether a statement accesses global memory, other than by loads that tensor maps cut.
fn reaches_memory(body: &[Stmt]) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Atom { atom, args } => args.iter().any(|arg| match arg {
            Arg::Address(address) => address.space == Space::Gmem,
            Arg::TensorMap(_) => atom
                .copy
                .as_ref()
                .is_some_and(|copy| copy.to == Space::Gmem),
            _ => false,
        }),
        Stmt::For { body, .. } => reaches_memory(body),
        Stmt::If {
            then, otherwise, ..
        } => reaches_memory(then) || reaches_memory(otherwise),
        _ => false,
    })
}

/// The expressions that tests are made of.
struct Slice<'p> {
    roots: Vec<(Use, &'p Expr)>,
    values: HashMap<VarId, Vec<usize>>,
    extents: Vec<ParamId>,
    seen: HashSet<usize>,
    open: Vec<usize>,
    mutants: Vec<Mutant>,
}

impl<'p> Slice<'p> {
    fn new(program: &'p Program, roots: Vec<(Use, &'p Expr)>) -> Slice<'p> {
        let mut values: HashMap<VarId, Vec<usize>> = HashMap::new();
        for (at, (how, _)) in roots.iter().enumerate() {
            if let Use::Value(var) = how {
                values.entry(*var).or_default().push(at);
            }
        }
        let params = (0..).zip(&program.params);
        let extents = params.filter(|(_, param)| param.ty == ParamType::I32);
        Slice {
            values,
            extents: extents.map(|(index, _)| ParamId(index)).collect(),
            seen: HashSet::new(),
            open: Vec::new(),
            mutants: Vec::new(),
            roots,
        }
    }

    fn collect(&mut self) {
        let tests = self.roots.iter().enumerate();
        let tests = tests.filter(|(_, (how, _))| matches!(how, Use::Test | Use::Size));
        self.open = tests.map(|(at, _)| at).collect();
        while let Some(root) = self.open.pop() {
            if self.seen.insert(root) {
                let (_, expr) = self.roots[root];
                self.descend(expr, root, &mut Vec::new());
            }
        }
        self.mutants.sort_by(|a, b| {
            let key = |mutant: &Mutant| (mutant.site.root, mutant.site.path.clone());
            key(a).cmp(&key(b))
        });
    }

    fn add(&mut self, root: usize, path: &[usize], change: Change) {
        let path = path.to_vec();
        let site = Site { root, path };
        self.mutants.push(Mutant { site, change });
    }

    fn descend(&mut self, expr: &'p Expr, root: usize, path: &mut Vec<usize>) {
        let into: &[usize] = match expr {
            Expr::Param(param) if self.extents.contains(param) => {
                self.add(root, path, Change::LimitPlusOne);
                for other in self.extents.clone() {
                    if other != *param {
                        self.add(root, path, Change::Limit(other));
                    }
                }
                &[]
            }
            Expr::Var(var) => {
                let values = self.values.get(var).into_iter().flatten();
                self.open.extend(values);
                &[]
            }
            Expr::Compare(op, ..) => {
                if self.is_of_extent(expr, &mut HashSet::new()) {
                    self.add(root, path, Change::Drop);
                    if *op != CmpOp::Ne {
                        self.add(root, path, Change::Weaken);
                    }
                }
                &[0, 1]
            }
            Expr::Binary(op @ (BinOp::Min | BinOp::Max), ..) => {
                self.add(root, path, Change::Weaken);
                self.add(root, path, Change::Keep(0));
                if *op == BinOp::Min {
                    self.add(root, path, Change::Keep(1));
                }
                &[0, 1]
            }
            Expr::Select(..) => &[0, 1, 2],
            Expr::Convert(..) => &[0],
            expr => followed(expr),
        };
        for side in into {
            if let Some(inner) = child(expr, *side) {
                path.push(*side);
                self.descend(inner, root, path);
                path.pop();
            }
        }
    }

    /// Whether an extent decides the test, by sums, differences and choices.
    fn is_of_extent(&self, expr: &Expr, seen: &mut HashSet<VarId>) -> bool {
        match expr {
            Expr::Param(param) => self.extents.contains(param),
            Expr::Var(var) => {
                let values = self.values.get(var).into_iter().flatten();
                let mut values = values.map(|at| self.roots[*at].1);
                seen.insert(*var) && values.any(|value| self.is_of_extent(value, seen))
            }
            Expr::Compare(..) | Expr::Select(..) | Expr::Convert(..) => {
                let mut inner = (0..3).filter_map(|side| child(expr, side));
                inner.any(|inner| self.is_of_extent(inner, seen))
            }
            expr => {
                let mut inner = followed(expr).iter().filter_map(|side| child(expr, *side));
                inner.any(|inner| self.is_of_extent(inner, seen))
            }
        }
    }
}

/// The operands of an operation that carry a limit on: not those of products, which make an index
/// of a tile its start, but for a count of elements times their bytes.
fn followed(expr: &Expr) -> &'static [usize] {
    let Expr::Binary(op, a, _) = expr else {
        return &[];
    };
    let is_param = matches!(a.as_ref(), Expr::Param(_));
    let is_least = matches!(a.as_ref(), Expr::Binary(BinOp::Min | BinOp::Max, ..));
    match op {
        BinOp::Add | BinOp::Sub | BinOp::And | BinOp::Or | BinOp::Min | BinOp::Max => &[0, 1],
        BinOp::Div | BinOp::Rem if is_param => &[0],
        BinOp::Mul if is_least => &[0],
        _ => &[],
    }
}

fn child(expr: &Expr, side: usize) -> Option<&Expr> {
    let parts: [Option<&Rc<Expr>>; 3] = match expr {
        Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => [Some(a), Some(b), None],
        Expr::Select(cond, a, b) => [Some(cond), Some(a), Some(b)],
        Expr::Convert(_, inner) => [Some(inner), None, None],
        _ => [None, None, None],
    };
    parts.get(side).copied().flatten().map(Rc::as_ref)
}

fn change(expr: &mut Expr, path: &[usize], how: Change) {
    if let Some((side, rest)) = path.split_first() {
        let inner = match (expr, side) {
            (Expr::Binary(_, a, _) | Expr::Compare(_, a, _) | Expr::Convert(_, a), 0) => a,
            (Expr::Binary(_, _, b) | Expr::Compare(_, _, b), 1) => b,
            (Expr::Select(cond, _, _), 0) => cond,
            (Expr::Select(_, a, _), 1) => a,
            (Expr::Select(_, _, b), 2) => b,
            _ => return,
        };
        change(Rc::make_mut(inner), rest, how);
        return;
    }
    let one_more = |expr: &Expr| {
        let one = Expr::Int(1, IntType::I32);
        Expr::Binary(BinOp::Add, Rc::new(expr.clone()), Rc::new(one))
    };
    *expr = match (&*expr, how) {
        (_, Change::Drop) => Expr::Int(1, IntType::I1),
        (Expr::Compare(CmpOp::Lt, a, b), Change::Weaken) => {
            Expr::Compare(CmpOp::Le, Rc::clone(a), Rc::clone(b))
        }
        (Expr::Compare(_, a, b), Change::Weaken) => {
            Expr::Compare(CmpOp::Le, Rc::clone(a), Rc::new(one_more(b)))
        }
        (Expr::Binary(op, a, b), Change::Weaken) => {
            Expr::Binary(*op, Rc::new(one_more(a)), Rc::clone(b))
        }
        (Expr::Binary(_, a, b), Change::Keep(side)) => [a, b][side.min(1)].as_ref().clone(),
        (expr, Change::LimitPlusOne) => one_more(expr),
        (_, Change::Limit(param)) => Expr::Param(param),
        (expr, _) => expr.clone(),
    };
}
