// Convolutions with 3x3 kernels by Winograd's F(2x2, 3x3): 16 products for 4 outputs instead of 36.
//
// Y = A'[(G g G') * (B' d B)]A for tiles d of 4x4 inputs (Lavin and Gray 2015). Lanes run over tiles of a row, so that
// the transforms are a few shuffles; each of the 16 places of a tile is a matrix product over the channels, for K outputs
// at a time. A block of tile rows of one image is done at once, so that what is between the steps stays in the second
// cache.
template <int L, int K> struct Winograd {
  typedef Vec<float, L> V;
  typedef Vec<int32_t, L> Lanes;

  // Up to L values, zeros behind them.
  INL V some(const float* p, int n) { return n >= L ? load<float, float, L>(p) : n <= 0 ? V{} : load_first<float, float, L>(p, n); }
  INL void keep(float* p, int n, V v) { if (n >= L) store<float, float, L>(p, v); else if (n > 0) store_first<float, float, L>(p, n, v); }

  // G g G', in the order in which the products read it: place, block of K outputs, channel, output.
  template <int C, int M, int THREADS> static void weights(const float* F, float* U) {
    #pragma omp parallel for schedule(static) num_threads(at_most(THREADS))
    for (int64_t m = 0; m < (M + K - 1) / K * K; m++) for (int c = 0; c < C; c++) {
      float t[4][3], g[3][3];
      for (int i = 0; i < 9; i++) g[i / 3][i % 3] = m < M ? F[(m * C + c) * 9 + i] : 0;
      for (int j = 0; j < 3; j++) {
        t[0][j] = g[0][j]; t[1][j] = 0.5f * (g[0][j] + g[1][j] + g[2][j]); t[2][j] = 0.5f * (g[0][j] - g[1][j] + g[2][j]); t[3][j] = g[2][j];
      }
      for (int i = 0; i < 4; i++) {
        const float u[4] = {t[i][0], 0.5f * (t[i][0] + t[i][1] + t[i][2]), 0.5f * (t[i][0] - t[i][1] + t[i][2]), t[i][2]};
        for (int j = 0; j < 4; j++) U[((int64_t)((i * 4 + j) * ((M + K - 1) / K) + m / K) * C + c) * K + m % K] = u[j];
      }
    }
  }

  // B' d B of a row of tiles; `to` is of the first place, places are `step` apart.
  template <int W, int H, int TW> INL void inputs(const float* I, int row, float* to, int64_t step) {
    const Lanes even = 2 * iota<int32_t, L>(0), odd = even + 1;
    for (int tw = 0; tw < TW; tw += L) {
      V t[4][4];
      #pragma GCC unroll 4
      for (int r = 0; r < 4; r++) {
        const float* p = I + (row + r) * W + 2 * tw;
        const int n = row + r < H ? W - 2 * tw : 0;
        const V a = some(p, n), b = some(p + L, n - L), c = some(p + 2, n - 2), d = some(p + L + 2, n - L - 2);
        const V d0 = __builtin_shuffle(a, b, even), d1 = __builtin_shuffle(a, b, odd), d2 = __builtin_shuffle(c, d, even), d3 = __builtin_shuffle(c, d, odd);
        t[r][0] = d0 - d2; t[r][1] = d1 + d2; t[r][2] = d2 - d1; t[r][3] = d1 - d3;
      }
      #pragma GCC unroll 4
      for (int j = 0; j < 4; j++) {
        store<float, float, L>(to + j * step + tw, t[0][j] - t[2][j]);
        store<float, float, L>(to + (4 + j) * step + tw, t[1][j] + t[2][j]);
        store<float, float, L>(to + (8 + j) * step + tw, t[2][j] - t[1][j]);
        store<float, float, L>(to + (12 + j) * step + tw, t[1][j] - t[3][j]);
      }
    }
  }

  // K rows of a product: P(m, t) = sum of U(c, m) * D(c, t) for Q vectors of t.
  template <int C, int Q> INL void product(const float* U, const float* D, int64_t row, float* P, int64_t to) {
    V sum[K][Q];
    #pragma GCC unroll 8
    for (int m = 0; m < K; m++) {
      #pragma GCC unroll 4
      for (int q = 0; q < Q; q++) sum[m][q] = V{};
    }
    for (int c = 0; c < C; c++) {
      V d[Q];
      #pragma GCC unroll 4
      for (int q = 0; q < Q; q++) d[q] = load<float, float, L>(D + c * row + q * L);
      #pragma GCC unroll 8
      for (int m = 0; m < K; m++) {
        const V u = splat<float, L>(U[c * K + m]);
        #pragma GCC unroll 4
        for (int q = 0; q < Q; q++) sum[m][q] += u * d[q];
      }
    }
    #pragma GCC unroll 8
    for (int m = 0; m < K; m++) {
      #pragma GCC unroll 4
      for (int q = 0; q < Q; q++) store<float, float, L>(P + m * to + q * L, sum[m][q]);
    }
  }

  // A' p A of a row of tiles.
  template <int OH, int OW, int TW> INL void outputs(const float* P, int64_t step, int row, float* O) {
    const Lanes low = iota<int32_t, L>(0) / 2 + (iota<int32_t, L>(0) & 1) * L, high = low + L / 2;
    for (int tw = 0; tw < TW; tw += L) {
      V t[2][4];
      #pragma GCC unroll 4
      for (int j = 0; j < 4; j++) {
        V p[4];
        #pragma GCC unroll 4
        for (int i = 0; i < 4; i++) p[i] = load<float, float, L>(P + (i * 4 + j) * step + tw);
        t[0][j] = p[0] + p[1] + p[2]; t[1][j] = p[1] - p[2] - p[3];
      }
      #pragma GCC unroll 2
      for (int i = 0; i < 2; i++) {
        if (row + i >= OH) break;
        const V a = t[i][0] + t[i][1] + t[i][2], b = t[i][1] - t[i][2] - t[i][3];
        float* p = O + (row + i) * OW + 2 * tw;
        keep(p, OW - 2 * tw, __builtin_shuffle(a, b, low));
        keep(p + L, OW - 2 * tw - L, __builtin_shuffle(a, b, high));
      }
    }
  }

  template <int N, int C, int H, int W, int M, int THREADS> static void run(const float* I, const float* F, float* O) {
    constexpr int OH = H - 2, OW = W - 2, TH = (OH + 1) / 2, TW = (OW + 1) / 2, B = (M + K - 1) / K;
    constexpr int TILES = C <= 64 ? 192 : 12288 / C, WANTED = TILES / TW < 1 ? 1 : TILES / TW, BLOCKS = (TH + WANTED - 1) / WANTED, R = (TH + BLOCKS - 1) / BLOCKS;
    constexpr int Q = (R * TW + L - 1) / L;
    constexpr int64_t ROW = (R - 1) * TW + (TW + L - 1) / L * L > Q * L ? (R - 1) * TW + (TW + L - 1) / L * L : Q * L;
    float* U = (float*)scratch(16 * B * C * K * sizeof(float), 0);
    weights<C, M, THREADS>(F, U);
    #pragma omp parallel for collapse(2) schedule(static) num_threads(at_most(THREADS))
    for (int64_t n = 0; n < N; n++) for (int64_t block = 0; block < BLOCKS; block++) {
      float* D = (float*)scratch(16 * C * ROW * sizeof(float), 1);
      float* P = (float*)scratch(16 * K * ROW * sizeof(float), 2);
      const int first = block * R, last = first + R < TH ? first + R : TH;
      for (int c = 0; c < C; c++) for (int th = first; th < last; th++)
        inputs<W, H, TW>(I + (int64_t)(n * C + c) * H * W, 2 * th, D + c * ROW + (th - first) * TW, C * ROW);
      for (int b = 0; b < B; b++) {
        for (int place = 0; place < 16; place++) {
          const float *u = U + (int64_t)(place * B + b) * C * K, *d = D + place * C * ROW;
          float* p = P + place * K * ROW;
          int q = 0;
          for (; q + 3 <= Q; q += 3) product<C, 3>(u, d + q * L, ROW, p + q * L, ROW);
          if (Q % 3 == 2) product<C, 2>(u, d + q * L, ROW, p + q * L, ROW);
          if (Q % 3 == 1) product<C, 1>(u, d + q * L, ROW, p + q * L, ROW);
        }
        for (int m = b * K; m < M && m < b * K + K; m++) for (int th = first; th < last; th++)
          outputs<OH, OW, TW>(P + (m - b * K) * ROW + (th - first) * TW, K * ROW, 2 * th, O + (int64_t)(n * M + m) * OH * OW);
      }
    }
  }
};
