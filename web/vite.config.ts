// The dashboard's page: web/dist/dash, served below /dash/.
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "/dash/",
  build: {
    outDir: "dist/dash",
    emptyOutDir: true,
    target: "es2021",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  // `npm run dev` beside `brimful dash DIR`.
  server: {
    proxy: {
      "/dash/api": "http://127.0.0.1:8080",
      "/dash/live": { target: "ws://127.0.0.1:8080", ws: true },
    },
  },
  test: { include: ["src/**/*.test.ts"] },
});
