;; Adds up the leaves that rows reach in symmetric trees of four questions, sixteen rows at a time. See leaf-sum.ts.
;;
;; A tree is 64 bytes: the columns of its questions (four i32), their thresholds (four i32, bits of floats), the low bytes
;; of its sixteen leaves (i16), the high bytes of them.
(module
  (memory (export "memory") 1)

  ;; From the tree at `tree` to that before `end`. `columns` holds `rows` values per column; up to 60 bytes behind the last
  ;; one are read, and up to 60 behind the i32 of the last row are written at `sums`.
  (func (export "sum") (param $first i32) (param $end i32) (param $columns i32) (param $rows i32) (param $sums i32)
    (local $stride i32) (local $left i32) (local $tree i32)
    (local $a i32) (local $b i32) (local $c i32) (local $d i32)
    (local $atA v128) (local $atB v128) (local $atC v128) (local $atD v128)
    (local $leaf v128) (local $low v128) (local $high v128) (local $pairs v128)
    (local $sum0 v128) (local $sum4 v128) (local $sum8 v128) (local $sum12 v128)
    (local.set $stride (i32.shl (local.get $rows) (i32.const 2)))
    (local.set $left (local.get $rows))
    (loop $rows
      (local.set $sum0 (v128.const i32x4 0 0 0 0))
      (local.set $sum4 (v128.const i32x4 0 0 0 0))
      (local.set $sum8 (v128.const i32x4 0 0 0 0))
      (local.set $sum12 (v128.const i32x4 0 0 0 0))
      (local.set $tree (local.get $first))
      (loop $trees
        (local.set $a (i32.add (local.get $columns) (i32.mul (local.get $stride) (i32.load (local.get $tree)))))
        (local.set $b (i32.add (local.get $columns) (i32.mul (local.get $stride) (i32.load offset=4 (local.get $tree)))))
        (local.set $c (i32.add (local.get $columns) (i32.mul (local.get $stride) (i32.load offset=8 (local.get $tree)))))
        (local.set $d (i32.add (local.get $columns) (i32.mul (local.get $stride) (i32.load offset=12 (local.get $tree)))))
        (local.set $atA (v128.load32_splat offset=16 (local.get $tree)))
        (local.set $atB (v128.load32_splat offset=20 (local.get $tree)))
        (local.set $atC (v128.load32_splat offset=24 (local.get $tree)))
        (local.set $atD (v128.load32_splat offset=28 (local.get $tree)))
        ;; The answers of sixteen rows to a question are all bits of a byte or none; each question keeps its own.
        (local.set $leaf
          (v128.or
            (v128.or
              (v128.and
                (v128.const i32x4 0x01010101 0x01010101 0x01010101 0x01010101)
                (i8x16.narrow_i16x8_s
                  (i16x8.narrow_i32x4_s
                    (i32x4.gt_s (v128.load (local.get $a)) (local.get $atA))
                    (i32x4.gt_s (v128.load offset=16 (local.get $a)) (local.get $atA)))
                  (i16x8.narrow_i32x4_s
                    (i32x4.gt_s (v128.load offset=32 (local.get $a)) (local.get $atA))
                    (i32x4.gt_s (v128.load offset=48 (local.get $a)) (local.get $atA)))))
              (v128.and
                (v128.const i32x4 0x02020202 0x02020202 0x02020202 0x02020202)
                (i8x16.narrow_i16x8_s
                  (i16x8.narrow_i32x4_s
                    (i32x4.gt_s (v128.load (local.get $b)) (local.get $atB))
                    (i32x4.gt_s (v128.load offset=16 (local.get $b)) (local.get $atB)))
                  (i16x8.narrow_i32x4_s
                    (i32x4.gt_s (v128.load offset=32 (local.get $b)) (local.get $atB))
                    (i32x4.gt_s (v128.load offset=48 (local.get $b)) (local.get $atB))))))
            (v128.or
              (v128.and
                (v128.const i32x4 0x04040404 0x04040404 0x04040404 0x04040404)
                (i8x16.narrow_i16x8_s
                  (i16x8.narrow_i32x4_s
                    (i32x4.gt_s (v128.load (local.get $c)) (local.get $atC))
                    (i32x4.gt_s (v128.load offset=16 (local.get $c)) (local.get $atC)))
                  (i16x8.narrow_i32x4_s
                    (i32x4.gt_s (v128.load offset=32 (local.get $c)) (local.get $atC))
                    (i32x4.gt_s (v128.load offset=48 (local.get $c)) (local.get $atC)))))
              (v128.and
                (v128.const i32x4 0x08080808 0x08080808 0x08080808 0x08080808)
                (i8x16.narrow_i16x8_s
                  (i16x8.narrow_i32x4_s
                    (i32x4.gt_s (v128.load (local.get $d)) (local.get $atD))
                    (i32x4.gt_s (v128.load offset=16 (local.get $d)) (local.get $atD)))
                  (i16x8.narrow_i32x4_s
                    (i32x4.gt_s (v128.load offset=32 (local.get $d)) (local.get $atD))
                    (i32x4.gt_s (v128.load offset=48 (local.get $d)) (local.get $atD))))))))
        (local.set $low (i8x16.swizzle (v128.load offset=32 (local.get $tree)) (local.get $leaf)))
        (local.set $high (i8x16.swizzle (v128.load offset=48 (local.get $tree)) (local.get $leaf)))
        (local.set $pairs
          (i8x16.shuffle 0 16 1 17 2 18 3 19 4 20 5 21 6 22 7 23 (local.get $low) (local.get $high)))
        (local.set $sum0 (i32x4.add (local.get $sum0) (i32x4.extend_low_i16x8_s (local.get $pairs))))
        (local.set $sum4 (i32x4.add (local.get $sum4) (i32x4.extend_high_i16x8_s (local.get $pairs))))
        (local.set $pairs
          (i8x16.shuffle 8 24 9 25 10 26 11 27 12 28 13 29 14 30 15 31 (local.get $low) (local.get $high)))
        (local.set $sum8 (i32x4.add (local.get $sum8) (i32x4.extend_low_i16x8_s (local.get $pairs))))
        (local.set $sum12 (i32x4.add (local.get $sum12) (i32x4.extend_high_i16x8_s (local.get $pairs))))
        (local.set $tree (i32.add (local.get $tree) (i32.const 64)))
        (br_if $trees (i32.lt_u (local.get $tree) (local.get $end))))
      (v128.store (local.get $sums) (local.get $sum0))
      (v128.store offset=16 (local.get $sums) (local.get $sum4))
      (v128.store offset=32 (local.get $sums) (local.get $sum8))
      (v128.store offset=48 (local.get $sums) (local.get $sum12))
      (local.set $sums (i32.add (local.get $sums) (i32.const 64)))
      (local.set $columns (i32.add (local.get $columns) (i32.const 64)))
      (local.set $left (i32.sub (local.get $left) (i32.const 16)))
      (br_if $rows (i32.gt_s (local.get $left) (i32.const 0))))))
