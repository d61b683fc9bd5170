// The playground: web/dist/playground, a folder for any file server (`make playground` adds the simulator and traces).
import { defineConfig } from "vite";

export default defineConfig({
  root: "playground",
  base: "./",
  build: {
    outDir: "../dist/playground",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  worker: { format: "es" },
});
