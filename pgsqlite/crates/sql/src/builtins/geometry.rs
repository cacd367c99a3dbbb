//! Functions of the geometric types.

use super::imp::{row, Imp, Row};
use Imp::{Native, Sql};

pub const ROWS: &[Row] = &[
    row("path_contain_pt(path,point)", Sql("on_ppath($2, $1)")),
    row(
        "construct_point point_left point_right point_above point_below point_vert point_horiz point_eq point_ne \
         point_distance point_slope point_add point_sub point_mul point_div point_box lseg_construct lseg_length \
         lseg_center lseg_vertical lseg_horizontal lseg_parallel lseg_perp lseg_intersect lseg_interpt \
         lseg_distance close_lseg lseg_eq lseg_ne lseg_lt lseg_le lseg_gt lseg_ge line_construct_pp line_intersect \
         line_parallel line_perp line_vertical line_horizontal line_eq line_interpt line_distance points_box \
         box_same box_overlap box_left box_overleft box_right box_overright box_below box_overbelow box_above \
         box_overabove box_below_eq box_above_eq box_contain box_contained box_contain_pt box_lt box_le box_eq \
         box_ge box_gt box_area box_width box_height box_center box_distance box_intersect box_diagonal box_add \
         box_sub box_mul box_div boxes_bound_box box_poly box_circle path_n_lt path_n_le path_n_eq path_n_ge \
         path_n_gt path_isclosed path_isopen path_npoints path_close path_open path_length path_area path_inter \
         path_distance path_add path_add_pt path_sub_pt path_mul_pt path_div_pt path_poly poly_npoints poly_center \
         poly_box poly_path poly_circle poly_same poly_overlap poly_contain poly_contained poly_contain_pt \
         pt_contained_poly poly_left poly_overleft poly_right poly_overright poly_below poly_overbelow poly_above \
         poly_overabove poly_distance cr_circle circle_same circle_overlap circle_contain circle_contained \
         circle_contain_pt pt_contained_circle circle_left circle_overleft circle_right circle_overright \
         circle_below circle_overbelow circle_above circle_overabove circle_eq circle_ne circle_lt circle_le \
         circle_gt circle_ge circle_area circle_diameter circle_radius circle_center circle_distance circle_add_pt \
         circle_sub_pt circle_mul_pt circle_div_pt circle_box circle_poly polygon(circle) dist_pl dist_lp dist_ps dist_sp dist_pb \
         dist_bp dist_ppath dist_pathp dist_ppoly dist_polyp dist_pc dist_cpoint dist_cpoly dist_polyc dist_sl \
         dist_ls dist_sb dist_bs close_pl close_ps close_pb close_ls close_sb on_pl on_ps on_pb on_ppath on_sl \
         on_sb inter_sl inter_sb inter_lb",
        Native,
    ),
];
