package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/record"
)

// version is the object of `waybill version`.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // "" where the build does not know it
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Format   string `json:"format"` // of the records in Redis that it writes
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: between(0, 0),
		RunE: func(*cobra.Command, []string) error {
			v := thisVersion()
			if a.json {
				return printJSON(a.stdout, v)
			}
			_, err := fmt.Fprintf(a.stdout, "waybill %s, %s, %s, record format %s\n", v.Version, v.Go, v.Platform, v.Format)
			return err
		},
	}
}

// thisVersion is what the build says of itself.
func thisVersion() version {
	v := version{Version: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Format: string(record.Format)}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}
