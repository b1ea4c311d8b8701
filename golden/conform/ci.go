package conform

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// What CI systems read: JUnit's XML, and GitHub's workflow commands.

// junitSuite is a suite of JUnit's XML: the checks of one way.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as JUnit's XML: a suite for each way, in it a test for each model file.
// The error is that of w.
func (r *Report) JUnit(w io.Writer) error {
	type suites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Name     string        `xml:"name,attr"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	all := suites{Name: "etgen golden check", Tests: r.Passed + r.Failed, Failures: r.Failed}
	of := map[string]*junitSuite{}
	for _, result := range r.Results {
		s := of[result.Way]
		if s == nil {
			s = &junitSuite{Name: "via " + result.Way}
			of[result.Way], all.Suites = s, append(all.Suites, s)
		}
		test := junitCase{Class: filepath.ToSlash(result.Case), Name: result.Model + " via " + result.Way}
		if s.Tests++; result.Problem != nil {
			s.Failures++
			test.Failure = &junitFailure{Message: *result.Problem, Text: r.missOf(result)}
		}
		s.Cases = append(s.Cases, test)
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// missOf is the line that tells of a result that is a miss.
func (r *Report) missOf(result Result) string {
	for _, m := range r.Misses {
		if m.Case == result.Case && m.Model == result.Model && m.Way == result.Way {
			return m.String()
		}
	}
	return ""
}

// Annotation is the miss as a workflow command of GitHub Actions, which shows it at the case's
// meta.json.
func (m Miss) Annotation() string {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	return fmt.Sprintf("::error file=%s,title=%s::%s",
		property.Replace(filepath.ToSlash(filepath.Join(m.Case, "meta.json"))),
		property.Replace("etgen golden check"), message.Replace(m.String()))
}
