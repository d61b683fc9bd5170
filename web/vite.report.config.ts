// The script and the style of report.html: one file each, put into the page by crate report.
import { defineConfig } from "vite";

export default defineConfig({
  build: {
    outDir: "dist",
    emptyOutDir: false,
    target: "es2021",
    cssCodeSplit: false,
    lib: {
      entry: "src/report/main.ts",
      name: "brimfulReport",
      formats: ["iife"],
      fileName: () => "report.js",
      cssFileName: "report",
    },
  },
});
